require "erb"
template = <<~'E'
  <ul>
  <% items.each do |item| -%>
    <li class="<%= item.odd? ? "odd" : "even" %>"><%= h(label(item)) %></li>
  <% end -%>
  </ul>
E
class Page
  include ERB::Util
  def label(i) = "item <#{i}> & more"
end
ERB.new(template, trim_mode: "-").def_method(Page, "render(items)")
page, items = Page.new, (1..200).to_a

Workload.run(20) { 6.times.sum { page.render(items).size } + ERB.new(template, trim_mode: "-").src.size }

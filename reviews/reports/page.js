// Search of the report, and the number of findings that are shown. Without it the rest of the page works.
{
  const [form, box, total] = [".filters", "input[type=search]", "output"].map((selector) => document.querySelector(selector));
  const findings = [...document.querySelectorAll(".finding")];
  const files = [...document.querySelectorAll(".file")];
  const texts = findings.map((finding) => finding.textContent.toLowerCase());
  // The styles hide what the filters do not admit. To ask for the styles in closed files takes Chromium seconds.
  const namesOf = ({options, selectedIndex}) => {
    const first = options[selectedIndex].className.startsWith("at-") ? 1 : selectedIndex;
    return [...options].slice(first, selectedIndex + 1).map((option) => option.className.replace(/^(at|pick)-/, ""));
  };
  const passesFilters = (finding) => [...form.querySelectorAll("select:not(.group-by *)")]
    .every((select) => select.selectedIndex === 0 || namesOf(select).some((name) => finding.classList.contains(name)));
  const update = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    findings.forEach((finding, index) => finding.classList.toggle("unmatched", !words.every((word) => texts[index].includes(word))));
    document.body.classList.toggle("searching", words.length > 0);
    for (const file of files) {
      const matches = file.querySelector(".finding:not(.unmatched)") !== null;
      file.classList.toggle("unmatched", !matches);
      file.open ||= words.length > 0 && matches;
    }
    const shown = findings.filter((finding) => passesFilters(finding) && !finding.matches(".unmatched"));
    total.textContent = `${shown.length} of ${findings.length} findings`;
  };
  const toggle = form.querySelector("button[type=button]");
  toggle.addEventListener("click", () => {
    const open = files.some((file) => !file.open);
    for (const file of files) file.open = open;
  });
  form.querySelectorAll("[hidden]").forEach((part) => { part.hidden = false; });
  form.addEventListener("input", update);
  form.addEventListener("reset", () => setTimeout(update));
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
}

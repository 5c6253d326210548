// Flower's list of tasks: asks for housekeeping tasks as the page's address says, links the session of each row, and names
// the column of each cell for the styles.

(($) => {
  const { shown, sessions } = document.getElementById("housekeeping").dataset;

  $(document).on("preXhr.dt", (event, settings, data) => {
    if (shown) data.housekeeping = shown;
  });

  $(document).on("draw.dt", "#tasks-table", (event, settings) => {
    const table = new $.fn.dataTable.Api(settings);
    const columns = table.columns().header().toArray().map((head) => head.dataset.column);
    table.rows({ page: "current" }).every(function extendRow() {
      columns.forEach((name, index) => { this.node().cells[index].dataset.column = name; });
      linkSession(this.node().querySelector("[data-column=session]"), this.data());
    });
    table.columns.adjust();
  });

  function linkSession(cell, { session, session_id: id }) {
    if (!cell || !id) return;
    const link = document.createElement("a");
    link.href = `${sessions}/${id}`;
    link.title = id;
    link.textContent = session;
    cell.replaceChildren(link);
  }
})(window.jQuery);

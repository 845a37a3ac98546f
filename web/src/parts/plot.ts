// What draws curves: it comes after the page's words and tables, which do not wait for it (Graph.svelte).
import "uplot/dist/uPlot.min.css";
export { default } from "uplot";

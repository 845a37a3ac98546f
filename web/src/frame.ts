// What all pages share: the frame around them, and the program that draws.
import { mount } from "svelte";
import App from "./App.svelte";

function draw() {
  mount(App, { target: document.getElementById("app")! });
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", draw);
else draw();

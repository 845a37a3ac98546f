// What all pages share: the frame around them, and the program that draws.
import { mount } from "svelte";
import App from "./App.svelte";

mount(App, { target: document.getElementById("app")! });

// The build of the portal's pages: a few files without anything inline, as the Content-Security-Policy asks for.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

// Two files that all pages share: what begins, and asks for the rest; and the frame. A part that one page alone uses is in that
// page's file.
const shared = {
  start: /\/src\/(main|early|pages|addresses)\.ts$|vite\/preload-helper/,
  frame: /\/node_modules\/(svelte|esm-env|clsx)\/|\/src\/(?!terminal)[^/]+\.ts$|\/src\/(App|parts\/(Events|Footprint|Graph|JobTable|Meter|Missing|Reservations|State|Timeline|UseTable|Worst))\.svelte$/,
};

// The browser fetches the frame beside the first line of the program, not after it; and begins with that line when it is
// there, not when the page could be drawn.
function beginSoon(): Plugin {
  return {
    name: "begin-soon",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle, path }) {
        const file = Object.keys(bundle ?? {}).find((name) => /\/frame-[^/]*\.js$/.test(name));
        if (!file || path !== "/index.html") return html;
        return {
          html: html.replace('<script type="module"', '<script type="module" async'),
          tags: [{ tag: "link", attrs: { rel: "modulepreload", crossorigin: true, href: `/${file}` }, injectTo: "head" }],
        };
      },
    },
  };
}

export default defineConfig({
  plugins: [svelte(), beginSoon()],
  build: {
    target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0, chunkSizeWarningLimit: 350,
    // The terminal's page is its own: its job serves it.
    rollupOptions: {
      input: ["index.html", "terminal.html"],
      output: { manualChunks: (id) => Object.entries(shared).find(([, files]) => files.test(id))?.[0] },
    },
  },
  // `npx vite` beside a running `minke portal --port 8899`.
  server: { proxy: { "/api": "http://localhost:8899", "/login": "http://localhost:8899" } },
});

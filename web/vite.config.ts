// The build of the portal's pages: a few files without anything inline, as the Content-Security-Policy asks for.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022", modulePreload: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 350,
    // The terminal's page is its own: its job serves it.
    rollupOptions: { input: ["index.html", "terminal.html"] },
  },
  // `npx vite` beside a running `minke portal --port 8899`.
  server: { proxy: { "/api": "http://localhost:8899", "/login": "http://localhost:8899" } },
});

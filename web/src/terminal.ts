// The terminal's page, which its job serves (src/portal/app_terminal.h): what the shell writes comes as bytes, keys go as
// bytes, and the size of the window as text. A connection that is lost is made again; the shell is the same.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import "./terminal.css";

const french = (localStorage.getItem("language") ?? navigator.language).startsWith("fr");
const state = document.getElementById("state")!;
const terminal = new Terminal({ cursorBlink: true, scrollback: 10000, fontFamily: 'ui-monospace, "DejaVu Sans Mono", Menlo, monospace', fontSize: 14, screenReaderMode: true });
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(document.getElementById("terminal")!);
document.documentElement.lang = french ? "fr" : "en";

let socket: WebSocket | null = null, pause = 500;
const isOpen = () => socket?.readyState === WebSocket.OPEN;

function tellSize() {
  fit.fit();
  if (isOpen()) socket!.send(JSON.stringify({ columns: terminal.cols, rows: terminal.rows }));
}

function connect() {
  const where = new URL("shell", location.href);
  where.protocol = where.protocol.replace("http", "ws");
  where.search = where.hash = "";
  socket = new WebSocket(where);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    pause = 500;
    state.textContent = "";
    terminal.reset();
    tellSize();
    terminal.focus();
  };
  socket.onmessage = (event) => terminal.write(new Uint8Array(event.data as ArrayBuffer));
  socket.onclose = () => {
    state.textContent = french ? "La connexion est perdue, ou la tâche est terminée. Nouvel essai…" : "The connection is lost, or the job has ended. Trying again…";
    setTimeout(connect, pause);
    pause = Math.min(pause * 2, 15000);
  };
}

const keys = new TextEncoder();
terminal.onData((text) => {
  if (isOpen()) socket!.send(keys.encode(text));
});
terminal.onBinary((text) => {
  if (isOpen()) socket!.send(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
});
addEventListener("resize", tellSize);
connect();

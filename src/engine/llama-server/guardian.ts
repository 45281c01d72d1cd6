// A process of its own, as small as can be: it runs the server, and ends it together with itself when Dragoman is gone,
// however that went. It leads the process group that both are in; the server's last words go straight to Dragoman.
import { spawn } from 'node:child_process'

const [binary = '', ...args] = process.argv.slice(2)

/** Ends the whole group, this process included. */
function endAll(): void {
  if (process.platform === 'win32') {
    server.kill('SIGKILL')
    process.exit()
  }
  process.kill(-process.pid, 'SIGKILL')
}

const server = spawn(binary, args, { stdio: ['ignore', 'inherit', 'inherit'], windowsHide: true })
// The channel closes with Dragoman's end: that is what this process is for.
process.on('disconnect', endAll)
process.on('message', (message) => {
  if (message === 'stop') server.kill('SIGTERM')
})
// A terminal or an operator that ends the group means the server, which ends by itself; its end is then told.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => server.kill(signal))

server.once('spawn', () => process.send?.({ type: 'started', pid: server.pid }))
server.once('error', (error) => {
  if (server.pid === undefined) report({ type: 'not-started', message: error.message })
})
server.once('exit', (code, signal) => report({ type: 'exited', code, signal }))

function report(message: object): void {
  if (!process.connected) endAll()
  process.send?.(message, () => endAll())
}

// A minimal process that runs the server, and kills the server and itself when Dragoman has ended for any reason. It leads the
// process group of both; the server's output goes directly to Dragoman.
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
// The channel closes when Dragoman ends.
process.on('disconnect', endAll)
process.on('message', (message) => {
  if (message === 'stop') server.kill('SIGTERM')
})
// A signal from a terminal or an operator is for the server; its exit is then reported.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => server.kill(signal))
// It would open Node's debugger.
process.on('SIGUSR1', () => undefined)

server.once('spawn', () => process.send?.({ type: 'started', pid: server.pid }))
server.once('error', (error) => {
  if (server.pid === undefined) report({ type: 'not-started', message: error.message })
})
server.once('exit', (code, signal) => report({ type: 'exited', code, signal }))

function report(message: object): void {
  if (!process.connected) endAll()
  process.send?.(message, () => endAll())
}

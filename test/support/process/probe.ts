import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'

/** CPU time of the main thread of a process, in milliseconds: other processes on a busy machine do not count. Only Linux reports it. */
export function cpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

type Server = { readonly url: string; readonly pid: number }

/** Asks for `/health` on a connection of its own. Resolves with the CPU time that the server took until it answered. */
export function health({ url, pid }: Server): Promise<number> {
  const startMs = cpuMs(pid)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.once('error', reject)
    socket.once('data', (reply) => {
      socket.destroy()
      if (String(reply).startsWith('HTTP/1.1 200')) resolve(cpuMs(pid) - startMs)
      else reject(new Error(String(reply)))
    })
    socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  })
}

/** Does some work, and asks for `/health` all the while. Resolves with the most CPU time that an answer took. */
export async function slowestHealth(server: Server, work: () => Promise<unknown>): Promise<number> {
  let isDone = false
  const done = work().finally(() => {
    isDone = true
  })
  // It is awaited at the end.
  done.catch(() => undefined)
  let slowest = 0
  // Once more when the work is done, which may have been in one go.
  for (let isLast = false; !isLast; ) {
    isLast = isDone
    slowest = Math.max(slowest, await health(server))
  }
  await done
  return slowest
}

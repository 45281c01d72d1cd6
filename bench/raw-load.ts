import { connect, type Socket } from 'node:net'

export type LoadOptions = { readonly port: number; readonly path: string; readonly body: string; readonly count: number }

/** Keep-alive connections that repeat one request; cheap on purpose, so that the server is what is measured. */
export type Load = {
  /** Resolves with the number of replies that were complete within the time. */
  run(durationMs: number): Promise<number>
  close(): void
}

/** The last bytes of a chunked reply; they may arrive in pieces. */
const chunkedEnd = Buffer.from('\r\n0\r\n\r\n')

export async function openConnections({ port, path, body, count }: LoadOptions): Promise<Load> {
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n`
  const request = Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  const sockets = await Promise.all(Array.from({ length: count }, () => open(port)))
  return {
    run: async (durationMs) => {
      const endMs = performance.now() + durationMs
      const counts = await Promise.all(sockets.map((socket) => repeat(socket, request, endMs)))
      return counts.reduce((sum, replies) => sum + replies, 0)
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}

/** Sends the request again whenever its reply is complete, until the time is over. */
function repeat(socket: Socket, request: Buffer, endMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let replies = 0
    let missingBytes: number | undefined
    let tail = Buffer.alloc(0)
    const onData = (piece: Buffer) => {
      if (missingBytes === undefined) {
        const headEnd = piece.indexOf('\r\n\r\n')
        const head = piece.subarray(0, headEnd).toString('latin1')
        if (headEnd !== -1 && !head.startsWith('HTTP/1.1 200')) return reject(new Error(`the server answered: ${piece}`))
        const length = /content-length: (\d+)/i.exec(head)?.[1]
        missingBytes = length === undefined ? Number.POSITIVE_INFINITY : Number(length) + headEnd + 4
      }
      missingBytes -= piece.length
      tail = Buffer.concat([tail, piece.subarray(-chunkedEnd.length)]).subarray(-chunkedEnd.length)
      if (missingBytes > 0 && !tail.equals(chunkedEnd)) return
      replies += 1
      missingBytes = undefined
      if (performance.now() < endMs) return socket.write(request)
      socket.off('data', onData)
      resolve(replies)
    }
    socket.on('data', onData)
    socket.write(request)
  })
}

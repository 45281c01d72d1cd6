import type { WebSocket } from 'ws'
import { unlessLong } from '../../base/turn.ts'

/**
 * Takes the messages of a socket one by one, while it is open. Those of one read come all at once: the socket is read no further until
 * they are taken.
 */
export function takeMessages(socket: WebSocket, take: (data: Buffer, isBinary: boolean) => Promise<void>): void {
  let waiting = 0
  let taken = Promise.resolve()
  const takeNext = async (data: Buffer, isBinary: boolean): Promise<void> => {
    await unlessLong()
    if (socket.readyState === socket.OPEN) await take(data, isBinary)
    waiting -= 1
    if (waiting === 0) socket.resume()
  }
  socket.on('message', (data, isBinary) => {
    if (socket.readyState !== socket.OPEN) return
    waiting += 1
    if (waiting === 1) socket.pause()
    taken = taken.then(() => takeNext(toBuffer(data), isBinary))
  })
}

function toBuffer(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? Buffer.from(data) : data
}

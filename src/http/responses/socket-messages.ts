import type { WebSocket } from 'ws'
import { unlessLong } from '../../base/turn.ts'
import { AppError } from '../../contract/errors.ts'
import { JsonScanner } from '../../dialect/wire/json/json-scanner.ts'
import type { BodyRoom, BodyShare } from '../body/body-room.ts'
import { parseJsonBody, parseLargeJsonBody } from '../body/json-body.ts'
import { largeBodyBytes, noRoom } from '../body/read-body.ts'

/** Parses a message under the limits of bodies. Close the share when its content is no longer needed. Rejects with `AppError`. */
export async function readMessage(
  message: Buffer,
  room: BodyRoom,
): Promise<{ readonly value: unknown; readonly share: BodyShare }> {
  const share = room.open()
  try {
    if (!share.grow(message.length)) throw noRoom()
    new JsonScanner('the message').push(message)
    const { value } = message.length > largeBodyBytes ? await parseLargeJsonBody(message) : parseJsonBody(message)
    return { value, share }
  } catch (error) {
    share.close()
    throw AppError.from(error)
  }
}

/**
 * Takes the messages of a socket one by one, while it is open. Those of one read come together: the socket is read no further until
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

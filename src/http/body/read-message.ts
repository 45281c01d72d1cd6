import { AppError } from '../../contract/errors.ts'
import { JsonScanner } from '../../dialect/wire/json-scanner.ts'
import type { BodyRoom, BodyShare } from './body-room.ts'
import { parseJsonBody, parseLargeJsonBody } from './json-body.ts'
import { largeBodyBytes, noRoom } from './read-body.ts'

/** Parses a message under the limits of bodies. Close the share when its content is not needed. Rejects with `AppError`. */
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

import { AppError } from '../../contract/errors.ts'
import type { ServiceSink } from '../../contract/services.ts'

/** Some minutes of speech. */
const mostBytes = 64 * 1024 * 1024

/** The whole reply of another server, for one that is made of it. */
export class CollectedReply implements ServiceSink {
  readonly #pieces: Uint8Array[] = []
  #sizeBytes = 0

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  begin(): void {
    // What it is, its bytes say.
  }

  write(bytes: Uint8Array): undefined {
    this.#sizeBytes += bytes.length
    if (this.#sizeBytes > mostBytes) {
      throw new AppError('upstream-failed', `the server behind this model sent more than ${mostBytes} bytes of sound`)
    }
    this.#pieces.push(bytes)
  }
}

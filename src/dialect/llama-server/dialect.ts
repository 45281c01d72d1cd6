import { randomHex } from '../../base/random-hex.ts'
import type { Dialect } from '../../contract/dialect.ts'
import { withRunningTimings } from '../openai/times/running-timings.ts'
import { type DecodedLlamaCompletion, decodeCompletion, decodeInfill } from './decode.ts'
import { createStreamEncoder, encodeResult } from './encode.ts'
import { encodeLlamaServerError } from './errors.ts'

/** llama-server's own `POST /completion`. */
export const llamaCompletion = dialectOf(decodeCompletion)
/** llama-server's `POST /infill`, which editors call. */
export const llamaInfill = dialectOf(decodeInfill)

function dialectOf(decode: (body: unknown, id: string) => DecodedLlamaCompletion): Dialect {
  return {
    decode({ body }, { id }) {
      const decoded = decode(body, id)
      const { requests, stream, ignored, nameOf } = decoded
      return {
        requests,
        stream,
        ignored,
        nameOf,
        encodeResult: (result) => encodeResult(result, decoded),
        createStreamEncoder: () => withRunningTimings(createStreamEncoder(decoded), decoded.timingsPerToken),
      }
    },
    createId: () => `cmpl-${randomHex()}`,
    encodeError: encodeLlamaServerError,
    heartbeat: ': \n\n',
    prefixes: [],
  }
}

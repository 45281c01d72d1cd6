import { randomHex } from '../../base/random-hex.ts'
import type { Dialect } from '../../contract/dialect.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import { decodeDecisions } from './decode.ts'
import { encodeDecisions } from './encode.ts'

/** OpenAI's and tabbyAPI's `POST /v1/decisions`: questions that are answered by the probabilities of the first token. */
export const openaiDecisions: Dialect = {
  decode({ body }, { id }) {
    const decoded = decodeDecisions(body, id)
    const { requests, ignored, nameOf } = decoded
    return {
      requests,
      stream: false,
      ignored,
      nameOf,
      encodeResult: (result) => encodeDecisions(decoded, result),
      createStreamEncoder: () => {
        throw new Error('decisions are not streamed')
      },
    }
  },
  createId: () => `decision-${randomHex()}`,
  encodeError: encodeOpenaiError,
  heartbeat: ': \n\n',
  prefixes: ['/v1/decisions'],
}

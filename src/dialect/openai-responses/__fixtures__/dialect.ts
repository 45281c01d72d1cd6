import { plainSealer as sealer } from '../../../../test/support/plain-sealer.ts'
import type { Dialect, StreamEncoder } from '../../../contract/dialect.ts'
import { encodeOpenaiError } from '../../openai/errors.ts'
import { decodeResponse } from '../decode.ts'
import { createResponseEncoder, toSse } from '../encode/encoder.ts'
import { countIds } from './encode.ts'

/** The protocol without a service around it, in the form that the suites of all dialects test. */
export const responsesDialect: Dialect = {
  decode({ body }, { id }) {
    const decoded = decodeResponse(body, { id, createdAtMs: 0, sealer, history: [], items: [] })
    const { request, stream, ignored, nameOf, compactThreshold } = decoded
    const createStreamEncoder = (): StreamEncoder => {
      const encoder = createResponseEncoder(decoded)
      const options = `compact above ${compactThreshold}\n`
      return { encode: (event) => options + countIds(encoder.encode(event)).map(toSse).join('') }
    }
    return {
      requests: [request],
      stream,
      ignored,
      nameOf,
      encodeResult: () => ({}),
      createStreamEncoder,
    }
  },
  createId: () => 'resp_1',
  encodeError: encodeOpenaiError,
  heartbeat: ': \n\n',
  prefixes: ['/v1/responses'],
}

import { randomHex } from '../../base/random-hex.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { SealerOf } from '../../contract/sealer.ts'
import { decodeMessage } from './decode.ts'
import { encodeMessage } from './encode.ts'
import { createMessageEncoder } from './encode-stream.ts'
import { encodeAnthropicError } from './errors.ts'

/** Anthropic's `POST /v1/messages`. */
export function createAnthropicMessages({ sealerOf }: { readonly sealerOf: SealerOf }): Dialect {
  return {
    decode({ body, exactBody }, { id, requestId, owner = '', serverTools }) {
      const sealer = sealerOf(owner)
      const { request, stream, thinking, container, ignored, nameOf } = decodeMessage(body, {
        id,
        sealer,
        exactBody,
        serverTools,
      })
      const style = { id, thinking, sealer, container, ...(requestId !== undefined && { requestId }) }
      return {
        requests: [request],
        stream,
        ignored,
        nameOf,
        encodeResult: (result) => encodeMessage(result, style),
        createStreamEncoder: () => createMessageEncoder(style),
      }
    },
    createId: () => `msg_${randomHex()}`,
    encodeError: encodeAnthropicError,
    heartbeat: 'event: ping\ndata: {"type": "ping"}\n\n',
    prefixes: ['/v1/messages'],
  }
}

import { indexFields } from '../wire/field-table.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { requestPerItem, withModelId } from './batch.ts'
import type { DecodedRequests } from './decode-chat.ts'
import { decodeCommon } from './decode-common.ts'
import { decodeText } from './decode-content.ts'
import { batchCompletionFields, completionFields, nestedFields } from './fields.ts'
import { nameStackField } from './name-field.ts'
import { batchCompletionSchema, type CommonWire, completionSchema, type WireContent } from './schema.ts'

const nested = indexFields(nestedFields)
const readCompletion = bodyReader(completionSchema, completionFields, unknownKeys(completionSchema, nested))
const readBatch = bodyReader(batchCompletionSchema, batchCompletionFields, unknownKeys(batchCompletionSchema, nested))

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeCompletion(body: unknown, id: string): DecodedRequests {
  const { wire, ignored } = readCompletion(body)
  const contents = [{ path: 'content', content: wire.content }]
  return decodeContents(wire, { id, model: wire.model_id, contents, input: 'content', stream: wire.stream ?? false, ignored })
}

/** As `decodeCompletion`, for a batch of contents with the same settings. */
export function decodeBatchCompletion(body: unknown, id: string): DecodedRequests {
  const { wire, ignored } = readBatch(withModelId(body))
  const contents = wire.content_batch.map((content, index) => ({ path: `content_batch[${index}]`, content }))
  return decodeContents(wire, { id, model: wire.model_id, contents, input: 'content_batch', stream: false, ignored })
}

type Contents = Pick<DecodedRequests, 'stream' | 'ignored'> & {
  readonly id: string
  readonly model: string
  readonly contents: readonly { readonly path: string; readonly content: WireContent }[]
  readonly input: string
}

function decodeContents(wire: CommonWire, { id, model, contents, input, stream, ignored }: Contents): DecodedRequests {
  const common = decodeCommon(wire)
  return {
    requests: requestPerItem(contents, id, ({ path, content }, requestId) => ({
      ...common,
      id: requestId,
      model,
      prompt: { type: 'text', text: decodeText(content, path) },
      toolChoice: { type: 'auto' },
    })),
    stream,
    ignored,
    nameOf: (path) => nameStackField(path, { wire, input }),
  }
}

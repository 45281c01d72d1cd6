import { AppError } from '../contract/errors.ts'
import type { ContentPart, GenerationRequest } from '../contract/request.ts'

type Kind = ContentPart['type']

/** Throws `unsupported-field`, with its place and the words of `explain`, for the first part that the model cannot read. */
export function refuseMedia(
  { prompt }: Pick<GenerationRequest, 'prompt'>,
  canRead: (kind: Kind) => boolean,
  explain: (kind: Kind) => string,
): void {
  if (prompt.type !== 'chat') return
  for (const [index, { content }] of prompt.messages.entries()) {
    const part = content.findIndex(({ type }) => !canRead(type))
    const found = content[part]
    if (found === undefined) continue
    throw new AppError('unsupported-field', explain(found.type), { param: `messages[${index}].content[${part}]` })
  }
}

import { chatTexts } from '../../texts/chat.ts'
import type { Attachment } from './conversation.ts'
import type { Model } from './models.ts'

/** Why models cannot read what is attached to a message; undefined if they can, or if that is not known. */
export function unreadBy(
  models: readonly Pick<Model, 'id' | 'architecture' | 'media_problem'>[],
  attachments: readonly Pick<Attachment, 'kind'>[],
): string | undefined {
  for (const { id, architecture, media_problem: problem } of models) {
    const reads = architecture?.input_modalities
    const unread = attachments.find(({ kind }) => reads?.includes(kind) === false)
    if (unread !== undefined && unread.kind !== 'text') return chatTexts.unread(id, unread.kind, problem)
  }
  return undefined
}

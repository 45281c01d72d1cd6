import { chatTexts } from '../../../texts/chat.ts'
import type { Attachment } from '../conversation.ts'
import type { Model } from '../models.ts'

type Reader = Pick<Model, 'id' | 'architecture' | 'media_problem'>
type Attached = readonly Pick<Attachment, 'kind'>[]

/** Why models cannot read the attachments of a message, and another model that can. */
export type Unread = { readonly why: string; readonly instead?: string }

/** Undefined: they read all attachments, or that is not known. `others`: the models to offer, the best first. */
export function unreadBy(models: readonly Reader[], attachments: Attached, others: readonly Reader[]): Unread | undefined {
  for (const model of models) {
    const unread = unreadKind(model, attachments)
    if (unread === undefined) continue
    const instead = others.find((other) => readsAll(other, attachments))?.id
    return { why: chatTexts.unread(model.id, unread, model.media_problem), ...(instead !== undefined && { instead }) }
  }
  return undefined
}

/** The kind of an attachment that a model certainly does not read. */
export function unreadKind({ architecture }: Reader, attachments: Attached): 'image' | 'audio' | undefined {
  const reads = architecture?.input_modalities
  for (const { kind } of attachments) if (kind !== 'text' && reads?.includes(kind) === false) return kind
  return undefined
}

function readsAll({ architecture }: Reader, attachments: Attached): boolean {
  return attachments.every(({ kind }) => architecture?.input_modalities.includes(kind) === true)
}

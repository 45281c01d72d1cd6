import type { Usage } from '../../../contract/event.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import { plainRequest } from '../../../contract/request.ts'
import type { Sealer } from '../../../contract/sealer.ts'
import { seal } from '../../wire/sealed.ts'
import { createItemId } from '../item-id.ts'
import type { Compaction, MadeItem } from '../replies.ts'
import { encodeUsage } from '../response-end.ts'

const instruction = `Summarise the conversation so far, so that another model can continue it without having read it. Keep every fact that
is still needed: what the user asked for and prefers, decisions and their reasons, what was done and with which results, names of
files, commands and values exactly as they were, and what is left to do. Write the summary only.`

/** The generation that summarises a conversation. It has the same prompt up to its end, which is then read from the cache. */
export function summaryRequest({ id, model, prompt, sampling, reasoning, forwarded }: GenerationRequest): GenerationRequest {
  if (prompt.type !== 'chat') throw new Error('only a conversation can be summarised')
  const messages = [...prompt.messages, { role: 'user', content: [{ type: 'text', text: instruction }] } as const]
  return {
    ...plainRequest,
    id,
    model,
    prompt: { ...prompt, messages },
    sampling,
    reasoning,
    toolChoice: { type: 'none' },
    ...(forwarded !== undefined && { forwarded }),
  }
}

/** The item that stands for all items before it. Only servers with the same key can read it. */
export function createCompaction(summary: string, sealer: Sealer): MadeItem {
  const id = createItemId('cmp')
  const encrypted = seal(sealer, { kind: 'summary', text: summary })
  return { id, json: { id, type: 'compaction', encrypted_content: encrypted } }
}

type Compacted = { readonly id: string; readonly createdAtMs: number; readonly item: MadeItem; readonly usage: Usage }

/** The reply of `POST /v1/responses/compact`: its output is the input of the next call. */
export function encodeCompaction({ id, createdAtMs, item, usage }: Compacted): Compaction {
  return {
    id,
    object: 'response.compaction',
    created_at: Math.floor(createdAtMs / 1000),
    output: [item.json],
    usage: encodeUsage(usage),
  }
}

import { z } from 'zod'
import type { DetokenizeRequest, TokenizeRequest } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { flag, tokenIdList } from '../wire/wire-types.ts'

type Call<Request> = { readonly request: Request; readonly ignored: readonly string[]; readonly nameOf: NameOf }

const maxTokens = 1_000_000

export const countSchema = looseObject({ prompt: z.string(), special: flag })
export const countFields = [
  used('prompt', 'the text'),
  used('special', 'false: without the token that begins a text; default true'),
]
export const detokenizeSchema = looseObject({ ids: tokenIdList({ count: maxTokens, error: `at most ${maxTokens} tokens` }) })
export const detokenizeFields = [used('ids', 'the ids of tokens')]

const readCount = bodyReader(countSchema, countFields)
const readDetokenize = bodyReader(detokenizeSchema, detokenizeFields)

/** KoboldCpp's `POST /api/extra/tokencount`. */
export function decodeTokenCount(body: unknown): Call<TokenizeRequest> {
  const { wire, ignored } = readCount(body)
  const prompt = { type: 'text', text: wire.prompt } as const
  const request = { prompt, reasoning: {}, addBos: wire.special ?? true, parseSpecial: true }
  return { request, ignored, nameOf: (path) => (path[0] === 'addBos' ? 'special' : 'prompt') }
}

/** KoboldCpp's `POST /api/extra/detokenize`. */
export function decodeDetokenize(body: unknown): Call<DetokenizeRequest> {
  const { wire, ignored } = readDetokenize(body)
  const request = { tokens: wire.ids, special: true }
  return {
    request,
    ignored,
    nameOf: ([, index]) => (index === undefined ? 'ids' : `ids[${index}]`),
  }
}

import { describe, expect, test } from 'vitest'
import { decodeNow } from '../../test/support/decode-now.ts'
import { plainSealer as sealer } from '../../test/support/plain-sealer.ts'
import { AppError } from '../contract/errors.ts'
import { decodeMessage } from './anthropic/decode.ts'
import { decodeChat as decodeStackChat } from './llama-stack/decode-chat.ts'
import { decodeChat } from './openai-chat/decode.ts'
import { decodeCompletion } from './openai-completions/decode.ts'
import { decodeEmbeddings } from './openai-embeddings/decode.ts'
import { decodeResponse } from './openai-responses/decode.ts'
import { renderStrictness, strictnessTables } from './strictness.ts'
import { decodeDownload } from './tabby/download.ts'
import { decodeModelLoad } from './tabby/load.ts'
import { decodeLoraLoad } from './tabby/lora.ts'
import { unslothGenerate } from './unsloth/dialect.ts'
import { decodeLoad } from './unsloth/requests.ts'
import type { StrictnessRow } from './wire/strictness.ts'

type Decoded = { readonly request: object; readonly ignored: readonly string[] }

const decoders: Readonly<Record<keyof typeof strictnessTables, (body: object) => Decoded>> = {
  'openai-chat': (body) => decodeChat(body, 'x'),
  'openai-responses': (body) => decodeResponse(body, { id: 'x', createdAtMs: 0, sealer, history: [], items: [] }),
  anthropic: (body) => decodeMessage(body, { id: 'x', sealer }),
  'llama-stack': (body) => {
    const { requests, ignored } = decodeStackChat(body, 'x')
    return { request: requests[0], ignored }
  },
  'openai-completions': (body) => {
    const { requests, ignored } = decodeCompletion(body, 'x')
    return { request: requests[0], ignored }
  },
  'openai-embeddings': decodeEmbeddings,
  'unsloth-load': decodeLoad,
  'unsloth-generate': (body) => {
    const { requests, ignored } = decodeNow(unslothGenerate, body)
    return { request: requests[0], ignored }
  },
  'tabby-load': decodeModelLoad,
  'tabby-lora': (body) => {
    const { ignored, ...request } = decodeLoraLoad(body)
    return { request, ignored }
  },
  'tabby-download': (body) => {
    const { wanted: request, ignored } = decodeDownload(body)
    return { request, ignored }
  },
}

const hint =
  'docs/strictness.md is out of date; regenerate it with: npx vitest run --project unit src/dialect/strictness.test.ts -u'

test('docs/strictness.md is what the tables say', async () => {
  await expect(renderStrictness(), hint).toMatchFileSnapshot('../../docs/strictness.md')
})

const names = [
  ...(['openai-chat', 'openai-responses', 'anthropic', 'llama-stack', 'openai-completions', 'openai-embeddings'] as const),
  ...(['unsloth-load', 'unsloth-generate', 'tabby-load', 'tabby-lora', 'tabby-download'] as const),
]

test('every table is tested', () => {
  expect(Object.keys(strictnessTables)).toEqual(names)
})

describe.each(names)('%s', (name) => {
  const { base, rows } = strictnessTables[name]
  const decode = (sample: object) => decoders[name]({ ...base, ...sample })

  test('the base is a valid body', () => {
    expect(decode({}).ignored).toEqual([])
  })

  test('no two rows say the same', () => {
    expect(new Set(rows.map(({ what }) => what)).size).toBe(rows.length)
  })

  test.each(rows)('$what: $outcome', (row) => {
    if (row.outcome === 'refused') expectRefused(() => decode(row.sample), row)
    else expectTaken(decode(row.sample), row)
  })
})

function expectRefused(decode: () => Decoded, { param }: Extract<StrictnessRow, { outcome: 'refused' }>): void {
  expect(decode).toThrow(AppError)
  expect(decode).toThrow(expect.objectContaining({ param }))
}

function expectTaken(decoded: Decoded, { becomes = {}, ignored = [] }: Exclude<StrictnessRow, { outcome: 'refused' }>): void {
  expect(decoded.request).toMatchObject(becomes)
  expect(decoded.ignored).toEqual(ignored)
}

import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/contract/errors.ts'
import { decodeMessage } from '../../src/dialect/anthropic/decode.ts'
import { decodeChat as decodeStackChat } from '../../src/dialect/llama-stack/decode-chat.ts'
import { decodeChat as decodeOllamaChat } from '../../src/dialect/ollama/decode-chat.ts'
import { decodeGenerate } from '../../src/dialect/ollama/decode-generate.ts'
import { decodeEmbed } from '../../src/dialect/ollama/embed.ts'
import { decodeChat } from '../../src/dialect/openai-chat/decode.ts'
import { decodeCompletion } from '../../src/dialect/openai-completions/decode.ts'
import { decodeEmbeddings } from '../../src/dialect/openai-embeddings/embeddings.ts'
import { decodeResponse } from '../../src/dialect/openai-responses/decode.ts'
import { decodeDownload } from '../../src/dialect/tabby/download.ts'
import { decodeModelLoad } from '../../src/dialect/tabby/load.ts'
import { decodeLoraLoad } from '../../src/dialect/tabby/lora.ts'
import { unslothGenerate } from '../../src/dialect/unsloth/dialect.ts'
import { decodeLoad } from '../../src/dialect/unsloth/requests.ts'
import { decodeNow } from '../support/decode-now.ts'
import { plainSealer as sealer } from '../support/plain-sealer.ts'
import type { StrictnessRow } from './strictness/row.ts'
import { renderStrictness, strictnessTables } from './strictness/tables.ts'

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
  'ollama-chat': (body) => decodeOllamaChat(body, 'x'),
  'ollama-generate': (body) => decodeGenerate(body, 'x'),
  'ollama-embed': decodeEmbed,
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

const hint = 'docs/reference/strictness.md is out of date; regenerate it with: npm run unit -- test/protocols -u'

test('docs/reference/strictness.md is what the tables say', async () => {
  await expect(renderStrictness(), hint).toMatchFileSnapshot('../../docs/reference/strictness.md')
})

const names = [
  ...(['openai-chat', 'openai-responses', 'anthropic', 'llama-stack', 'openai-completions', 'openai-embeddings'] as const),
  ...(['ollama-chat', 'ollama-generate', 'ollama-embed'] as const),
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

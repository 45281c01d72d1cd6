import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ourCases } from './our-cases.ts'

const record = z.record(z.string(), z.unknown())

/** One thing that must hold of a reply: where to look, and what must be there. */
const checkSchema = z.strictObject({
  /** A place in the reply's JSON such as `choices.0.message.content`; a stream is folded into one reply. */
  path: z.string().optional(),
  /** A header of the reply. */
  header: z.string().optional(),
  /** A place in the body that the upstream got last. */
  upstream: z.string().optional(),
  /** The whole body. */
  text: z.literal(true).optional(),
  status: z.literal(true).optional(),

  equals: z.unknown().optional(),
  oneOf: z.array(z.unknown()).optional(),
  includes: z.string().optional(),
  excludes: z.string().optional(),
  /** Missing, null or an empty text. */
  absent: z.literal(true).optional(),
  present: z.literal(true).optional(),
  /** The text of a JSON object. */
  object: z.literal(true).optional(),
  /** A text whose JSON is this, in any order of keys. */
  json: z.unknown().optional(),
})

const stepSchema = z.strictObject({
  method: z.string().optional(),
  path: z.string(),
  headers: z.record(z.string(), z.string()).optional(),
  /** "MODEL" in it is replaced by the id of the case's model. */
  body: z.unknown().optional(),
  /** Base64, in place of `body`. */
  bytes: z.string().optional(),
  repeat: z.int().optional(),
  expect: z.array(checkSchema).optional(),
})

const ruleSchema = z.strictObject({
  /** Places in the request's body, with their values. */
  when: record.optional(),
  status: z.int().optional(),
  json: z.unknown().optional(),
  /** Events, or raw text of the stream. */
  sse: z.array(z.union([z.string(), record])).optional(),
})

const modelSchema = z.strictObject({
  /** A chat template of llama.cpp's, without its ending. */
  template: z.string().optional(),
  /** The `toolFormat` of a scripted model. */
  format: z.string().optional(),
  /** dragoman-tiny, on the embedded engine. */
  builtin: z.literal(true).optional(),
  /** The kind of a remote server, which answers by `upstream`. */
  server: z.string().optional(),
  protocol: z.string().optional(),
  /** A file with this metadata and no tensors, under the name `file`. */
  gguf: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  file: z.string().optional(),
  /** dragoman-tiny, on a real llama-server. */
  llamaServer: z.literal(true).optional(),
})

export const caseSchema = z.strictObject({
  /** Of a file, its own name. */
  name: z.string().optional(),
  /** Where the fault was reported. */
  source: z.string().optional(),
  /** What is wanted. */
  about: z.string(),
  /** Nothing in it: a scripted model without a template. */
  model: modelSchema.default({}),
  /** The first rule that fits answers. */
  upstream: z.array(ruleSchema).optional(),
  /** The model's raw text: asked for in one piece, and streamed in pieces of one and three characters. */
  raw: z.string().optional(),
  /** With `raw`: the messages before the last one, the tools, other fields. */
  before: z.array(record).optional(),
  tools: z.array(record).optional(),
  extra: record.optional(),
  /** Without `raw`: requests, one after the other. */
  steps: z.array(stepSchema).optional(),
  expect: z.array(checkSchema),
})

export type Case = Omit<z.infer<typeof caseSchema>, 'name'> & { readonly id: string; readonly name: string }
export type CaseCheck = z.infer<typeof checkSchema>
export type CaseStep = z.infer<typeof stepSchema>
export type UpstreamRule = z.infer<typeof ruleSchema>

const reported = fileURLToPath(new URL('./reported', import.meta.url))

/** All cases. Throws for what is none. */
export function readCases(): readonly Case[] {
  const files = readdirSync(reported, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'))
  return [...ourCases, ...files.sort().map(readCase)].map((each) => ({
    ...caseSchema.parse(each),
    name: each.name,
    id: `case-${each.name.replace(/[^a-z0-9-]/gi, '-')}`,
  }))
}

function readCase(file: string) {
  const content = JSON.parse(readFileSync(join(reported, file), 'utf8')) as z.input<typeof caseSchema>
  return { ...content, name: basename(file, '.json') }
}

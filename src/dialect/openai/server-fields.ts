import { z } from 'zod'
import type { JsonObject } from '../../contract/request.ts'
import { type Field, used } from '../wire/field-table.ts'
import { jsonObject, list } from '../wire/first-fault.ts'
import { flag, integerFrom, text } from '../wire/wire-types.ts'
import { refuseLargeJson } from './large-json.ts'
import { isSame } from './spelling.ts'

const off = { object: {}, flag: false, list: [] } as const
const object = jsonObject.nullish()
const most = (count: number, what: string) => ({
  error: `an array of ${what}`,
  max: { count, error: `at most ${count} ${what}` },
})
const texts = list(z.string(), most(1000, 'strings'))
const vllm = 'of kind `vllm`'
const sglang = 'of kind `sglang`'

type Known = Readonly<
  Record<string, { readonly schema: z.ZodType; readonly servers: string; readonly off: unknown; readonly instead?: string }>
>

/** Fields that change the output and that only servers of one kind can honour, with their neutral values. */
const known = {
  add_special_tokens: { schema: flag, servers: vllm, off: undefined },
  bad_words: { schema: texts.nullish(), servers: vllm, off: off.list },
  custom_logit_processor: { schema: text, servers: sglang, off: undefined },
  custom_params: { schema: object, servers: sglang, off: off.object },
  max_dynamic_patch: { schema: integerFrom(1), servers: sglang, off: undefined },
  media_io_kwargs: { schema: object, servers: vllm, off: off.object },
  min_dynamic_patch: { schema: integerFrom(1), servers: sglang, off: undefined },
  mm_processor_kwargs: { schema: object, servers: vllm, off: off.object },
  repetition_detection: { schema: object, servers: vllm, off: off.object },
  session_params: { schema: object, servers: sglang, off: off.object },
  spaces_between_special_tokens: { schema: flag, servers: vllm, off: true },
  stop_regex: { schema: z.union([z.string(), texts]).nullish(), servers: sglang, off: off.list },
  use_audio_in_video: { schema: flag, servers: sglang, off: off.flag },
  vllm_xargs: { schema: object, servers: vllm, off: off.object },
} as const satisfies Known

/** The same for conversations, whose special tokens are their structure here. */
const knownInChats = {
  skip_special_tokens: {
    schema: flag,
    servers: 'of the kinds `vllm`, `aphrodite`, `sglang`',
    off: true,
    instead: '`POST /v1/completions` shows them',
  },
} as const satisfies Known

/** The same for texts. A conversation begins as its template does. */
const knownInTexts = {
  add_bos_token: {
    schema: flag,
    servers: 'of the kinds `vllm`, `aphrodite`, `tabbyapi`',
    off: true,
    instead: 'token ids get no first token',
  },
} as const satisfies Known

const all = {
  chat: Object.entries<Known[string]>({ ...known, ...knownInChats }),
  text: Object.entries<Known[string]>({ ...known, ...knownInTexts }),
}

/** The schemas of these fields. */
export const serverShape = shapeOf(known)
export const chatServerShape = shapeOf(knownInChats)
export const textServerShape = shapeOf(knownInTexts)

export const serverFields = rowsOf(known)
export const chatServerFields = rowsOf(knownInChats)
export const textServerFields = rowsOf(knownInTexts)

/** The caller's names, by canonical path. */
export const serverFieldNames = Object.fromEntries(
  Object.keys({ ...known, ...knownInChats, ...knownInTexts }).map((name) => [`serverFields.${name}`, [name] as const]),
)

/** The fields that are sent to the server as they are; an empty object for most requests. */
export function decodeServerFields(wire: object, prompt: 'chat' | 'text'): { readonly serverFields?: JsonObject } {
  const given = all[prompt].flatMap(([name, { off }]): (readonly [string, unknown])[] => {
    const value: unknown = Reflect.get(wire, name)
    if (value === undefined || value === null || value === '' || isSame(value, off)) return []
    refuseLargeJson(value, name)
    return [[name, value]]
  })
  return given.length === 0 ? {} : { serverFields: Object.fromEntries(given) }
}

function shapeOf<Fields extends Known>(fields: Fields): { readonly [Name in keyof Fields]: Fields[Name]['schema'] } {
  const schemas = Object.entries(fields).map(([name, { schema }]) => [name, schema])
  return Object.fromEntries(schemas) as { readonly [Name in keyof Fields]: Fields[Name]['schema'] }
}

function rowsOf(fields: Known): readonly Field[] {
  return Object.entries(fields).map(([name, { servers, instead }]) =>
    used(
      name,
      `passed on to servers ${servers} and \`dragoman\`; refused elsewhere${instead === undefined ? '' : `: ${instead}`}`,
    ),
  )
}

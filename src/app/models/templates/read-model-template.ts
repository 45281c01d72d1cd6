import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writtenText } from '../../../base/text/text-of.ts'
import { fileReason } from '../../../canonical/failure-reason.ts'
import { AppError } from '../../../contract/errors.ts'
import type { OwnTemplate } from '../../../engine/remote/own-prompts.ts'

const mostFileBytes = 16 * 1024 * 1024

/** A token is its text, or an object that contains it. */
const token = z
  .union([z.string(), z.object({ content: z.string() })])
  .nullish()
  .transform((value) => (typeof value === 'object' ? value?.content : value))

/** The part of `tokenizer_config.json` that prompts depend on, as Hugging Face writes it. */
const tokenizerConfig = z.object({
  bos_token: token,
  eos_token: token,
  pad_token: token,
  unk_token: token,
  add_bos_token: z.boolean().nullish(),
  chat_template: z.union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))]).nullish(),
  added_tokens_decoder: z.record(z.string(), z.object({ content: z.string(), special: z.boolean().nullish() })).nullish(),
})

type TokenizerConfig = z.output<typeof tokenizerConfig>

/**
 * A model's chat template: a Jinja file, or the folder of a model's repository with `chat_template.jinja`, `tokenizer_config.json` or
 * both. Rejects with `model-unavailable`.
 */
export async function readModelTemplate(path: string): Promise<OwnTemplate> {
  try {
    if (!(await stat(path)).isDirectory()) return { source: await readText(path) }
    const config = await readConfig(join(path, 'tokenizer_config.json'))
    const source = (await readIfThere(join(path, 'chat_template.jinja'))) ?? templateIn(config)
    if (source === undefined) throw new Error('it has no chat_template.jinja, and no template in tokenizer_config.json')
    return { source, ...tokensIn(config) }
  } catch (error) {
    const message = `its chatTemplate '${path}' cannot be read: ${fileReason(error)}`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}

async function readConfig(path: string): Promise<TokenizerConfig | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  const parsed = tokenizerConfig.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  throw new Error(`tokenizer_config.json is wrong at '${parsed.error.issues[0]?.path.join('.') ?? ''}'`)
}

function templateIn(config: TokenizerConfig | undefined): string | undefined {
  const template = config?.chat_template ?? undefined
  if (typeof template !== 'object') return template
  return (template.find(({ name }) => name === 'default') ?? template[0])?.template
}

function tokensIn(config: TokenizerConfig | undefined): Omit<OwnTemplate, 'source'> {
  if (config === undefined) return {}
  const {
    bos_token: bos,
    eos_token: eos,
    pad_token: pad,
    unk_token: unk,
    add_bos_token: addsBos,
    added_tokens_decoder: added,
  } = config
  const special = Object.values(added ?? {}).filter((one) => one.special === true)
  return {
    ...(typeof bos === 'string' && { bos }),
    ...(typeof eos === 'string' && { eos }),
    ...(typeof pad === 'string' && { pad }),
    ...(typeof unk === 'string' && { unk }),
    ...(typeof addsBos === 'boolean' && { addsBos }),
    ...(special.length > 0 && { specialTexts: special.map(({ content }) => content) }),
  }
}

/** An untrusted file. Those of tokenizers list thousands of tokens. */
export function readText(path: string): Promise<string> {
  return writtenText(createReadStream(path), { what: 'it', mostBytes: mostFileBytes })
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readText(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

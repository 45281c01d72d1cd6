import { z } from 'zod'
import { AppError } from '../contract/errors.ts'
import { describeIssues } from './problems.ts'
import type { LlamaModelConfig, LlamaServerModelConfig, ModelConfig } from './schema.ts'
import { contextLength, gpuLayers } from './sections/model-fields.ts'
import { optionalCount } from './sections/value-types.ts'

/** Settings of a model on the command line, as typed; `aliases`: other names for it. */
export type ModelFlags = {
  readonly context?: string | undefined
  readonly slots?: string | undefined
  readonly gpuLayers?: string | undefined
  readonly threads?: string | undefined
  readonly aliases?: readonly string[] | undefined
}

type ModelSettings = Partial<Pick<LlamaModelConfig, 'contextLength' | 'slots' | 'gpuLayers' | 'threads'>>

const settingsSchema = z.strictObject({
  contextLength: contextLength.exactOptional(),
  slots: optionalCount,
  gpuLayers: gpuLayers.exactOptional(),
  threads: optionalCount,
})

const flagOf = { contextLength: '--context', slots: '--slots', gpuLayers: '--gpu-layers', threads: '--threads' } as const

export function givenFlags(flags: ModelFlags): string[] {
  const names = typedSettings(flags).map(([key]) => flagOf[key])
  return flags.aliases === undefined ? names : [...names, '--alias']
}

/** Applies flags to a model. Throws `invalid-request` for one that runs elsewhere, or is a script. */
export function withModelFlags(model: ModelConfig, flags: ModelFlags): ModelConfig {
  const given = givenFlags(flags)
  if (given.length === 0) return model
  if (model.engine === 'llama' || model.engine === 'llama-server') {
    return { ...model, ...readModelFlags(flags) } as LlamaModelConfig | LlamaServerModelConfig
  }
  const message = `${given.join(', ')}: model '${model.id}' runs on the engine '${model.engine}', which has no such setting here`
  throw new AppError('invalid-request', message)
}

function typedSettings({
  context: contextLength,
  slots,
  gpuLayers: layers,
  threads,
}: ModelFlags): [keyof typeof flagOf, string][] {
  const typed = Object.entries({ contextLength, slots, gpuLayers: layers, threads })
  return typed.filter(([, text]) => text !== undefined) as [keyof typeof flagOf, string][]
}

/** The settings in the flags. Throws `invalid-request` with all invalid flags. */
function readModelFlags(flags: ModelFlags): ModelSettings {
  const raw = Object.fromEntries(typedSettings(flags).map(([key, text]) => [key, /^\d+$/.test(text) ? Number(text) : text]))
  const parsed = settingsSchema.safeParse(raw)
  if (parsed.success) return parsed.data
  const problems = describeIssues(parsed.error.issues, raw).map(({ path, message }) => {
    return `${flagOf[path[0] as keyof typeof flagOf]}: ${message}`
  })
  throw new AppError('invalid-request', problems.join('\n'))
}

import type { ModelConfig } from '../../config/schema.ts'
import { AppError } from '../../contract/errors.ts'
import { relatedShortNames } from '../../registry/names/catalogue.ts'
import { createRegistry } from '../../registry/names/registry.ts'
import { commandName } from '../terminal/command-name.ts'

/** The configured model with this name. Throws `model-not-found`, with what else could be fetched under such a name. */
export function resolveName(models: readonly ModelConfig[], name: string): ModelConfig {
  try {
    return createRegistry(models).resolve(name)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'model-not-found') throw error
    // A configured model is nearer.
    if (error.message.endsWith('?')) throw error
    throw new AppError('model-not-found', `${error.message}; ${whatCouldBeFetched(name)}`)
  }
}

function whatCouldBeFetched(name: string): string {
  if (/^[\w.-]+\/[\w.-]+$/.test(name)) return `hf:${name} is the repository of that name on Hugging Face`
  const related = relatedShortNames(name)
  return related.length === 0
    ? `\`${commandName} search\` lists models that can be fetched`
    : `models like that can be fetched as ${related.join(', ')}`
}

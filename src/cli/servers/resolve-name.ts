import type { ModelConfig } from '../../config/schema.ts'
import { AppError } from '../../contract/errors.ts'
import { createRegistry } from '../../registry/names/registry.ts'

/** The configured model with this name. Throws `model-not-found`, for a name of a repository with what fetches it. */
export function resolveName(models: readonly ModelConfig[], name: string): ModelConfig {
  try {
    return createRegistry(models).resolve(name)
  } catch (error) {
    const isRepository = /^[\w.-]+\/[\w.-]+$/.test(name)
    if (!(error instanceof AppError) || error.code !== 'model-not-found' || !isRepository) throw error
    throw new AppError('model-not-found', `${error.message}; hf:${name} is the repository of that name on Hugging Face`)
  }
}

import type { PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'

/** Refuses options that need support which the engine does not declare. */
export function refuseUnhonoured(request: GenerationRequest, prepared: PreparedGeneration): void {
  const { reportsPrompt, keepsMinimum, takesServerFields, usesTemplate } = prepared
  const engine = `the engine of model '${request.model}'`
  if (request.promptTokens !== undefined && reportsPrompt !== true) {
    const message =
      `${engine} does not report prompt tokens; leave out ${field('promptTokens')}, or send the prompt as text, without ` +
      `${field('logprobs')} and with at least one token to generate`
    throw new AppError('unsupported-field', message, { at: ['promptTokens'] })
  }
  if (request.minOutputTokens !== undefined && keepsMinimum !== true) {
    const message = `${engine} cannot enforce a minimum of output tokens; leave ${field('minOutputTokens')} out`
    throw new AppError('unsupported-field', message, { at: ['minOutputTokens'] })
  }
  if (request.prompt.type === 'chat' && request.prompt.template !== undefined && usesTemplate !== true) {
    const at = ['prompt', 'template']
    const message = `${engine} renders conversations with the model's own template only; leave ${field(...at)} out`
    throw new AppError('unsupported-field', message, { at })
  }
  const [name] = takesServerFields === true ? [] : Object.keys(request.serverFields ?? {})
  if (name === undefined) return
  const at = ['serverFields', name]
  throw new AppError(
    'unsupported-field',
    `${engine} does not know ${field(...at)}, which would change the output; leave it out`,
    { at },
  )
}

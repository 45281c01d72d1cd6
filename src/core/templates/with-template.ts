import type { RequestContext } from '../../contract/context.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { Prompt } from '../../contract/request.ts'
import type { TemplateStore } from '../../contract/template.ts'
import { findTemplate } from './find-template.ts'
import { nameInUse } from './name-in-use.ts'

export type TemplateDeps = {
  /** Templates that requests can name; absent: none. */
  readonly templates?: TemplateStore
}

const at = ['prompt', 'template']

/**
 * The request with the template that it names, for this request alone; unchanged if it names none. Rejects with `forbidden` for a key that
 * may not choose one, and with `invalid-request` for an unknown name.
 */
export function withTemplate<R extends { readonly prompt: Prompt }>(
  { templates }: TemplateDeps,
  request: R,
  { principal: { scopes }, model }: Pick<RequestContext, 'principal' | 'model'>,
): R | Promise<R> {
  const { prompt } = request
  if (prompt.type !== 'chat' || typeof prompt.template !== 'string') return request
  // tabbyAPI's clients name the template in use, which any key may do.
  if (prompt.template === nameInUse(model.engine.facts)) {
    const { template: _, ...rest } = prompt
    return { ...request, prompt: rest }
  }
  // A template decides how the model reads the messages, including those that an operator adds.
  if (!scopes.has('admin') && templates?.areOpen !== true) {
    const message =
      `${field(...at)} needs a key with the scope 'admin', which this one lacks: leave it out, or have the operator set ` +
      'requestTemplates to everyone'
    throw new AppError('forbidden', message, { at })
  }
  return findTemplate(templates, prompt.template, { at }).then((template) => ({ ...request, prompt: { ...prompt, template } }))
}

import { AppError } from '../../../../contract/errors.ts'
import { field } from '../../../../contract/field.ts'
import type { Prompt } from '../../../../contract/request.ts'
import { templateOf } from '../../../shared/template-choice.ts'
import type { Profile } from '../../servers/profile.ts'

const at = ['prompt', 'template']

/** The text of the template that a request names. Throws `unsupported-field` if the server accepts none. */
export function templateField(prompt: Prompt, { name, takesTemplates }: Profile): { readonly chat_template?: string } {
  const template = templateOf(prompt)
  if (template?.type !== 'named') return {}
  if (takesTemplates === true) return { chat_template: template.source }
  const message =
    `the server behind this model (${name}) renders conversations with its own chat template, and takes none with a request: ` +
    `leave ${field(...at)} out`
  throw new AppError('unsupported-field', message, { at })
}

import type { EngineFacts } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { Prompt } from '../../contract/request.ts'
import type { RequestTemplate, TemplateChoice } from '../../contract/template.ts'

/** The text of the chosen template; `own` is the model's own. */
export function chosenTemplate(choice: TemplateChoice, own: string | undefined): string | undefined {
  switch (choice.type) {
    case 'own':
      return own
    case 'none':
      return undefined
    case 'named':
      return choice.source
  }
}

/** The facts of an engine under a choice of template. */
export function templateFacts(
  choice: TemplateChoice,
  own: string | undefined,
): Pick<EngineFacts, 'chatTemplate' | 'chatTemplateName' | 'hasOwnTemplate'> {
  const chatTemplate = chosenTemplate(choice, own)
  return {
    ...(chatTemplate !== undefined && { chatTemplate }),
    ...(choice.type === 'named' && { chatTemplateName: choice.name }),
    ...(own !== undefined && { hasOwnTemplate: true }),
  }
}

/** Throws `template-failed` when the model's own template is chosen, and it has none. */
export function refuseMissingOwn(choice: TemplateChoice, own: string | undefined): void {
  if (choice.type === 'own' && own === undefined)
    throw new AppError('template-failed', 'this model has no chat template of its own')
}

/** Why a conversation cannot be rendered. */
export function noTemplate(choice: TemplateChoice): AppError {
  const why = choice.type === 'none' ? "this model's chat template was unloaded" : 'this model has no chat template'
  const what = 'switch to one, set `chatTemplate` for it in the configuration, or send plain text'
  return new AppError('template-failed', `${why}; ${what}`)
}

/** The template of this request alone; undefined: the model's. */
export function templateOf(prompt: Prompt): RequestTemplate | undefined {
  if (prompt.type !== 'chat') return undefined
  const { template } = prompt
  if (typeof template !== 'string') return template
  throw new AppError('internal', `an engine got the name of a template, '${template}', in the place of the template`)
}

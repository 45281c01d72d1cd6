import type { Prompt } from '../../contract/request.ts'

type Template = Pick<Extract<Prompt, { type: 'chat' }>, 'template'>

/** The name of the template for a request; an empty one, which forms send, counts as absent. */
export function decodeTemplate({ prompt_template: name }: { readonly prompt_template?: string | null | undefined }): Template {
  return typeof name === 'string' && name !== '' ? { template: name } : {}
}

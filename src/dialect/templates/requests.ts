import { AppError } from '../../contract/errors.ts'
import { pickSpelling } from '../openai/spelling.ts'
import { looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'
import { templateSwitchFields, templateUnloadFields } from './fields.ts'
import type { Templates } from './replies.ts'

const model = nonEmptyText.nullish()
export const templateSwitchSchema = looseObject({
  model,
  prompt_template_name: nonEmptyText.nullish(),
  name: nonEmptyText.nullish(),
})
export const templateUnloadSchema = looseObject({ model })
const readSwitch = bodyReader(templateSwitchSchema, templateSwitchFields)
const readUnload = bodyReader(templateUnloadSchema, templateUnloadFields)

/** A request about the templates of a model; undefined: the default model. */
type TemplateCall = { readonly model: string | undefined; readonly ignored: readonly string[] }

/** tabbyAPI's `POST /v1/template/switch`. */
export function decodeTemplateSwitch(body: unknown): TemplateCall & { readonly template: string } {
  const { wire, ignored } = readSwitch(body)
  const template = pickSpelling(wire, ['prompt_template_name', 'name'])
  if (template === undefined) {
    const message = 'prompt_template_name is missing: expected the name of a template'
    throw new AppError('invalid-request', message, { param: 'prompt_template_name' })
  }
  return { template, model: wire.model ?? undefined, ignored }
}

/** tabbyAPI's `POST /v1/template/unload`; an optional body names the model. */
export function decodeTemplateUnload(body: unknown): TemplateCall {
  const { wire, ignored } = readUnload(body ?? {})
  return { model: wire.model ?? undefined, ignored }
}

/** tabbyAPI's list of names; `selected` is our addition: the template in use, or null. */
export function encodeTemplates(names: readonly string[], selected: string | undefined): Templates {
  return { object: 'list', data: names, selected: selected ?? null }
}

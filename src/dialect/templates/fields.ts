import { type Field, used } from '../wire/field-table.ts'

const model: Field = used('model', 'an id or an alias; absent: the model that was loaded last, else the default one')

/** The request fields of `POST /v1/template/switch`, as tabbyAPI has them. */
export const templateSwitchFields: readonly Field[] = [
  model,
  used('prompt_template_name', "a name from `GET /v1/templates`; `model` is the model's own template", { aliases: ['name'] }),
]

/** The request fields of `POST /v1/template/unload`, whose body is optional. */
export const templateUnloadFields: readonly Field[] = [model]

// The public door of the package dragoman-jinja. Everything else may change without notice.
export { compileJinja, type JinjaOptions, type JinjaTemplate } from './jinja-template.ts'
export type { Rules } from './operations/attributes.ts'
export { asForeignData, ForeignJson } from './texts/from-json.ts'
export type { Limits } from './values/budget.ts'
export { asForeign, isForeign, plainText, runsOf } from './values/foreign-text.ts'
export { JinjaError, type JinjaErrorKind } from './values/jinja-error.ts'

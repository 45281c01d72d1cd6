/** The chat template to use: the model's own, none, or one that an operator chose. */
export type TemplateChoice =
  | { readonly type: 'own' }
  | { readonly type: 'none' }
  | { readonly type: 'named'; readonly name: string; readonly source: string }

export type RequestTemplate = Exclude<TemplateChoice, { type: 'none' }>

/** The callers' name for a model's own template, of its file or its configuration. It hides a file of that name. */
export const ownTemplateName = 'model'

/** The chat templates that models can be switched to, and that requests can name. */
export interface TemplateStore {
  list(): Promise<readonly string[]>
  /** The source of a template; undefined for an unknown name. */
  read(name: string): Promise<string | undefined>
  /** Any key may name one in a request; absent: only keys with the scope `admin`. */
  readonly areOpen?: boolean
}

/** The chat template to use: the model's own, none, or one that an operator chose. */
export type TemplateChoice =
  | { readonly type: 'own' }
  | { readonly type: 'none' }
  | { readonly type: 'named'; readonly name: string; readonly source: string }

/** The chat templates that models can be switched to. */
export interface TemplateStore {
  list(): Promise<readonly string[]>
  /** The source of a template; undefined for an unknown name. */
  read(name: string): Promise<string | undefined>
}

/** Kinds of words in code, each with its colour in `styles/markdown.css`. */
export const codeKinds = [
  'plain',
  'keyword',
  'string',
  'comment',
  'number',
  'title',
  'type',
  'attribute',
  'meta',
  'addition',
  'deletion',
] as const
export type CodeKind = (typeof codeKinds)[number]

/** By the scopes of highlight.js, without what follows a full stop in them. */
const byScope: Readonly<Record<string, CodeKind>> = {
  keyword: 'keyword',
  'selector-tag': 'keyword',
  doctag: 'keyword',
  name: 'keyword',
  string: 'string',
  regexp: 'string',
  char: 'string',
  link: 'string',
  code: 'string',
  comment: 'comment',
  quote: 'comment',
  number: 'number',
  literal: 'number',
  symbol: 'number',
  bullet: 'number',
  title: 'title',
  section: 'title',
  'selector-id': 'title',
  'selector-class': 'title',
  type: 'type',
  class: 'type',
  built_in: 'type',
  builtin: 'type',
  attr: 'attribute',
  attribute: 'attribute',
  property: 'attribute',
  variable: 'attribute',
  'template-variable': 'attribute',
  'template-tag': 'meta',
  'selector-attr': 'attribute',
  'selector-pseudo': 'attribute',
  meta: 'meta',
  addition: 'addition',
  deletion: 'deletion',
  // Code within a string, and what another language is embedded in.
  subst: 'plain',
}

/** Undefined: as what is around it. */
export function kindOf(scope: string): CodeKind | undefined {
  const [name = ''] = scope.split('.')
  return Object.hasOwn(byScope, name) ? byScope[name] : undefined
}

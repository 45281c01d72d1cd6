import type { Value } from '../values/value.ts'

/** The syntax tree of a template: the parser builds it, the interpreter walks it. */
export type Expression =
  | { readonly type: 'constant'; readonly value: Value }
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'tuple'; readonly items: readonly Expression[] }
  | { readonly type: 'list'; readonly items: readonly Expression[] }
  | { readonly type: 'dict'; readonly pairs: readonly (readonly [Expression, Expression])[] }
  | { readonly type: 'attribute'; readonly of: Expression; readonly name: string }
  | { readonly type: 'item'; readonly of: Expression; readonly key: Expression }
  | {
      readonly type: 'slice'
      readonly of: Expression
      readonly start: Expression | undefined
      readonly stop: Expression | undefined
      readonly step: Expression | undefined
    }
  | { readonly type: 'call'; readonly callee: Expression; readonly args: Arguments }
  | { readonly type: 'filter'; readonly name: string; readonly input: Expression; readonly args: Arguments }
  | { readonly type: 'test'; readonly name: string; readonly input: Expression; readonly args: Arguments }
  | { readonly type: 'unary'; readonly operator: '-' | '+' | 'not'; readonly operand: Expression }
  | { readonly type: 'binary'; readonly operator: BinaryOperator; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'concat'; readonly items: readonly Expression[] }
  | { readonly type: 'compare'; readonly left: Expression; readonly rest: readonly Comparison[] }
  | {
      readonly type: 'conditional'
      readonly test: Expression
      readonly value: Expression
      readonly otherwise: Expression | undefined
    }

export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**'
export type Comparison = { readonly operator: CompareOperator; readonly right: Expression }
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'

export type Arguments = {
  readonly positional: readonly Expression[]
  readonly named: readonly (readonly [string, Expression])[]
  /** `*values` and `**values`. */
  readonly spread: Expression | undefined
  readonly spreadNamed: Expression | undefined
}

export type Target =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'attribute'; readonly object: string; readonly name: string }
  | { readonly type: 'tuple'; readonly targets: readonly Target[] }

/** A macro's body with its parameters; also the body of a `call` block. */
export type MacroSyntax = {
  readonly name: string
  readonly parameters: readonly { readonly name: string; readonly fallback: Expression | undefined }[]
  readonly body: readonly Statement[]
  /** The names that the body reads. `caller`, `varargs` and `kwargs` among them let callers pass more than the parameters. */
  readonly mentions: ReadonlySet<string>
}

export type Statement =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'output'; readonly value: Expression }
  | {
      readonly type: 'if'
      readonly branches: readonly { readonly test: Expression; readonly body: readonly Statement[] }[]
      readonly otherwise: readonly Statement[]
    }
  | ForStatement
  | { readonly type: 'set'; readonly target: Target; readonly value: Expression }
  /** `filter` reads the text of the body under the name `blockText`. */
  | { readonly type: 'set-block'; readonly target: Target; readonly filter: Expression; readonly body: readonly Statement[] }
  | { readonly type: 'filter-block'; readonly filter: Expression; readonly body: readonly Statement[] }
  | { readonly type: 'macro'; readonly macro: MacroSyntax }
  | { readonly type: 'call-block'; readonly call: Extract<Expression, { type: 'call' }>; readonly body: MacroSyntax }
  | {
      readonly type: 'with'
      readonly bindings: readonly { readonly target: Target; readonly value: Expression }[]
      readonly body: readonly Statement[]
    }
  /** A body whose assignments stay inside: `generation`, `autoescape` and `block`. */
  | { readonly type: 'scope'; readonly isolated: boolean; readonly body: readonly Statement[] }
  | { readonly type: 'break' | 'continue' }
  /** `include` and its like. A chat template is one file, so they fail when they are reached. */
  | { readonly type: 'other-template'; readonly tag: string }

export type ForStatement = {
  readonly type: 'for'
  readonly target: Target
  readonly iterable: Expression
  readonly filter: Expression | undefined
  readonly recursive: boolean
  readonly body: readonly Statement[]
  readonly otherwise: readonly Statement[]
}

/** The name under which filters read the text of a block; templates cannot spell it. */
export const blockText = '\0block'

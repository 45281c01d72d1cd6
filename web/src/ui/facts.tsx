import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy.tsx'

type FactProps = {
  readonly name: string
  /** The exact value, as a tooltip. */
  readonly title?: string | undefined
  readonly children: ComponentChildren
}

export function Fact({ name, title, children }: FactProps) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** An id as a fact; nothing without one. */
export function IdFact({ name, id }: { readonly name: string; readonly id: string | undefined }) {
  if (id === undefined) return null
  return (
    <Fact name={name}>
      <Id text={id} what={name} />
    </Fact>
  )
}

/** An id with a copy button. */
export function Id({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <span class="id">
      <code>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  )
}

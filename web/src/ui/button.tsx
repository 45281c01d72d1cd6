import type { ComponentProps } from 'preact'
import { type IconName, icons } from './icons.tsx'

type Attributes = Omit<ComponentProps<'button'>, 'type' | 'class' | 'name' | 'icon'> & {
  /** Classes besides its own, such as `primary`. */
  readonly kind?: string
}

/** A button; without `onClick`, it submits its form. `of`: what it acts on, for screen readers. */
export function Button({ kind = '', of, children, ...rest }: Attributes & { readonly of?: string }) {
  return (
    <button type={rest.onClick === undefined ? 'submit' : 'button'} class={`button ${kind}`} {...rest}>
      {children}
      {of !== undefined && <span class="unseen"> {of}</span>}
    </button>
  )
}

/** A button with an icon, and its name as tooltip. `children` are beside the icon. */
export function IconButton({
  name,
  icon,
  kind = '',
  children,
  ...rest
}: Attributes & { readonly name: string; readonly icon: IconName }) {
  const Shape = icons[icon]
  return (
    <button type="button" class={`icon-button ${kind}`} aria-label={name} title={name} {...rest}>
      <Shape />
      {children}
    </button>
  )
}

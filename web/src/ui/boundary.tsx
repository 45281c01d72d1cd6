import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'

type BoundaryProps = {
  readonly children: ComponentChildren
  readonly instead: (error: unknown) => ComponentChildren
}

/** Shows its children, or `instead` once one of them throws. The rest of the page stays as it is. */
export function Boundary({ children, instead }: BoundaryProps) {
  const [error] = useErrorBoundary()
  return <>{error === undefined ? children : instead(error)}</>
}

import type { ComponentChildren } from 'preact'

function Icon({ children }: { readonly children: ComponentChildren }) {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
      {children}
    </svg>
  )
}

const line = (d: string) => () => (
  <Icon>
    <path d={d} stroke-linecap="round" stroke-linejoin="round" />
  </Icon>
)

/** Drawn for this page: 18 px, one stroke. */
export const icons = {
  microphone: line('M9 2.5a2 2 0 0 1 2 2v4a2 2 0 0 1-4 0v-4a2 2 0 0 1 2-2zM4.5 8.5a4.5 4.5 0 0 0 9 0M9 13v2.5'),
  speaker: line('M3 7v4h2.5L9 14V4L5.5 7zM11.5 6.5a3.5 3.5 0 0 1 0 5M13.5 4.5a6.4 6.4 0 0 1 0 9'),
  chat: line('M3 4.5h12v8H8L4.5 15v-2.5H3z'),
  models: line('M9 2.5 15 5.75v6.5L9 15.5l-6-3.25v-6.5zM3.2 5.9 9 9l5.8-3.1M9 9v6.3'),
  activity: line('M2 9.5h3l2-5.5 4 10 2-4.5h3'),
  keys: line('M11.5 3a3.5 3.5 0 1 1-3.1 5.1L3 13.5V15h2.5v-1.8h1.8v-1.8H9'),
  logs: line('M4 2.5h10v13H4zM6.5 6h5M6.5 9h5M6.5 12h3'),
  overview: line('M3 15V8.5M7 15V3M11 15V6M15 15v-4.5'),
  narrow: line('M3 3.5h12v11H3zM7 3.5v11M12 7l-2 2 2 2'),
  wide: line('M3 3.5h12v11H3zM7 3.5v11M10 7l2 2-2 2'),
  light: line(
    'M9 6a3 3 0 1 1 0 6 3 3 0 0 1 0-6M9 2v1.2M9 14.8V16M2 9h1.2M14.8 9H16M4 4l.9.9M13.1 13.1l.9.9M4 14l.9-.9M13.1 4.9 14 4',
  ),
  dark: line('M14.5 10.5A6 6 0 0 1 7.5 3.3a6 6 0 1 0 7 7.2z'),
  system: line('M2.5 3.5h13v8.5h-13zM6.5 15h5M9 12v3'),
  help: line('M9 2.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13M7.2 7.1A1.9 1.9 0 1 1 9 9.2v.9M9 12.4v.1'),
  person: line('M9 3a3 3 0 1 1 0 6 3 3 0 0 1 0-6M3.5 15c.6-2.6 2.7-4 5.5-4s4.9 1.4 5.5 4'),
  copy: line('M6.5 6.5h8v8h-8zM11.5 6.5v-3h-8v8h3'),
  close: line('M4.5 4.5l9 9M13.5 4.5l-9 9'),
  plus: line('M9 3.5v11M3.5 9h11'),
  menu: line('M3 5h12M3 9h12M3 13h12'),
  settings: line('M3 5.5h6M13 5.5h2M11 3.7v3.6M3 12.5h2M9 12.5h6M7 10.7v3.6'),
  branch: line('M5 3v12M5 11.5c0-4 8-2 8-7M10.5 6.5 13 4l2.5 2.5'),
  columns: line('M3 3.5h12v11H3zM9 3.5v11'),
  send: line('M9 15V3.5M4.5 8 9 3.5 13.5 8'),
  stop: line('M5 5h8v8H5z'),
  file: line('M4.5 2.5h6L14 6v9.5H4.5zM10.5 2.5V6H14'),
  attach: line('M14.5 8.5 9 14a3.3 3.3 0 0 1-4.7-4.7l5.8-5.8a2.2 2.2 0 0 1 3.1 3.1l-5.7 5.7a1.1 1.1 0 0 1-1.6-1.6L11 5.7'),
  edit: line('M3.5 14.5l.7-3L11.5 4l2.5 2.5-7.5 7.3zM10 5.5 12.5 8'),
  again: line('M14.5 9a5.5 5.5 0 1 1-1.7-4M14.5 2.5V5.5h-3'),
  code: line('M6 5 2.5 9 6 13M12 5l3.5 4-3.5 4'),
  tokens: line('M2.5 5.5h5v7h-5zM9.5 5.5h2v7h-2zM13.5 5.5h2v7h-2z'),
  trash: line('M3.5 5h11M7 5V3h4v2M5 5l.7 10h6.6L13 5M7.5 8v4M10.5 8v4'),
  down: line('M9 3.5V14M4.5 9.5 9 14l4.5-4.5'),
  more: line('M4 9h.1M9 9h.1M14 9h.1'),
}

export type IconName = keyof typeof icons

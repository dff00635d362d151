"""What the kernel refuses to processes of ours: the network, other processes, files that are none of their business.

Standard library only, so that a process can be fenced before it has read anything else. Linux on x86_64 and aarch64
has seccomp (which system calls) and Landlock (which files); other systems have neither, and `fence_of` says so.
"""

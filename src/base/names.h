/*
 * Names: how the linker calls the public functions of base and miniport in libvidmm.
 *
 * Place      base, for base/api.h. A public function that is new needs a row; the test
 *            install/embedding finds one that is missing.
 */
#ifndef DRYDOCK_BASE_NAMES_H
#define DRYDOCK_BASE_NAMES_H

#define base_alloc                               vidmm_base_alloc
#define base_alloc_array                         vidmm_base_alloc_array
#define base_free                                vidmm_base_free
#define base_free_array                          vidmm_base_free_array
#define base_services_libc                       vidmm_base_services_libc
#define miniport_ddi_name                        vidmm_miniport_ddi_name
#define miniport_destroy                         vidmm_miniport_destroy
#define miniport_forward_acquire_swizzling_range vidmm_miniport_forward_acquire_swizzling_range
#define miniport_forward_begin_exclusive_access  vidmm_miniport_forward_begin_exclusive_access
#define miniport_forward_build_paging_buffer     vidmm_miniport_forward_build_paging_buffer
#define miniport_forward_cancel_command          vidmm_miniport_forward_cancel_command
#define miniport_forward_close_allocation        vidmm_miniport_forward_close_allocation
#define miniport_forward_create_allocation       vidmm_miniport_forward_create_allocation
#define miniport_forward_create_context          vidmm_miniport_forward_create_context
#define miniport_forward_create_device           vidmm_miniport_forward_create_device
#define miniport_forward_create_native_fence     vidmm_miniport_forward_create_native_fence
#define miniport_forward_create_process          vidmm_miniport_forward_create_process
#define miniport_forward_create_hw_queue         vidmm_miniport_forward_create_hw_queue
#define miniport_forward_submit_command_to_hw_queue                                                \
    vidmm_miniport_forward_submit_command_to_hw_queue
#define miniport_forward_setup_priority_bands vidmm_miniport_forward_setup_priority_bands
#define miniport_forward_set_context_scheduling_properties                                         \
    vidmm_miniport_forward_set_context_scheduling_properties
#define miniport_forward_set_scheduling_log_buffer vidmm_miniport_forward_set_scheduling_log_buffer
#define miniport_forward_suspend_context           vidmm_miniport_forward_suspend_context
#define miniport_forward_resume_context            vidmm_miniport_forward_resume_context
#define miniport_forward_reset_hw_engine           vidmm_miniport_forward_reset_hw_engine
#define miniport_forward_resume_hw_engine          vidmm_miniport_forward_resume_hw_engine
#define miniport_forward_switch_to_hw_context_list vidmm_miniport_forward_switch_to_hw_context_list
#define miniport_forward_get_node_metadata         vidmm_miniport_forward_get_node_metadata
#define miniport_forward_calibrate_gpu_clock       vidmm_miniport_forward_calibrate_gpu_clock
#define miniport_forward_destroy_hw_queue          vidmm_miniport_forward_destroy_hw_queue
#define miniport_forward_describe_allocation       vidmm_miniport_forward_describe_allocation
#define miniport_forward_destroy_allocation        vidmm_miniport_forward_destroy_allocation
#define miniport_forward_destroy_context           vidmm_miniport_forward_destroy_context
#define miniport_forward_destroy_device            vidmm_miniport_forward_destroy_device
#define miniport_forward_destroy_native_fence      vidmm_miniport_forward_destroy_native_fence
#define miniport_forward_destroy_process           vidmm_miniport_forward_destroy_process
#define miniport_forward_end_exclusive_access      vidmm_miniport_forward_end_exclusive_access
#define miniport_forward_collect_dbg_info          vidmm_miniport_forward_collect_dbg_info
#define miniport_forward_collect_dbg_info2         vidmm_miniport_forward_collect_dbg_info2
#define miniport_forward_set_power_component_f_state                                               \
    vidmm_miniport_forward_set_power_component_f_state
#define miniport_forward_power_runtime_control_request                                             \
    vidmm_miniport_forward_power_runtime_control_request
#define miniport_forward_control_interrupt        vidmm_miniport_forward_control_interrupt
#define miniport_forward_control_interrupt2       vidmm_miniport_forward_control_interrupt2
#define miniport_forward_control_interrupt3       vidmm_miniport_forward_control_interrupt3
#define miniport_forward_get_root_page_table_size vidmm_miniport_forward_get_root_page_table_size
#define miniport_forward_escape                   vidmm_miniport_forward_escape
#define miniport_forward_get_standard_allocation_driver_data                                       \
    vidmm_miniport_forward_get_standard_allocation_driver_data
#define miniport_forward_map_cpu_host_aperture vidmm_miniport_forward_map_cpu_host_aperture
#define miniport_forward_open_allocation       vidmm_miniport_forward_open_allocation
#define miniport_forward_ops                   vidmm_miniport_forward_ops
#define miniport_forward_patch                 vidmm_miniport_forward_patch
#define miniport_forward_preempt_command       vidmm_miniport_forward_preempt_command
#define miniport_forward_present               vidmm_miniport_forward_present
#define miniport_forward_query_adapter_info    vidmm_miniport_forward_query_adapter_info
#define miniport_forward_query_current_fence   vidmm_miniport_forward_query_current_fence
#define miniport_forward_query_dependent_engine_group                                              \
    vidmm_miniport_forward_query_dependent_engine_group
#define miniport_forward_query_engine_status       vidmm_miniport_forward_query_engine_status
#define miniport_forward_release_swizzling_range   vidmm_miniport_forward_release_swizzling_range
#define miniport_forward_render                    vidmm_miniport_forward_render
#define miniport_forward_render_gdi                vidmm_miniport_forward_render_gdi
#define miniport_forward_render_km                 vidmm_miniport_forward_render_km
#define miniport_forward_reset_engine              vidmm_miniport_forward_reset_engine
#define miniport_forward_reset_from_timeout        vidmm_miniport_forward_reset_from_timeout
#define miniport_forward_restart_from_timeout      vidmm_miniport_forward_restart_from_timeout
#define miniport_forward_set_root_page_table       vidmm_miniport_forward_set_root_page_table
#define miniport_forward_set_vid_pn_source_address vidmm_miniport_forward_set_vid_pn_source_address
#define miniport_forward_set_vid_pn_source_visibility                                              \
    vidmm_miniport_forward_set_vid_pn_source_visibility
#define miniport_forward_submit_command          vidmm_miniport_forward_submit_command
#define miniport_forward_submit_command_virtual  vidmm_miniport_forward_submit_command_virtual
#define miniport_forward_unmap_cpu_host_aperture vidmm_miniport_forward_unmap_cpu_host_aperture
#define miniport_forward_update_monitored_values vidmm_miniport_forward_update_monitored_values
#define miniport_forward_is_supported_vid_pn     vidmm_miniport_forward_is_supported_vid_pn
#define miniport_forward_recommend_functional_vid_pn                                               \
    vidmm_miniport_forward_recommend_functional_vid_pn
#define miniport_forward_enum_vid_pn_cofunc_modality                                               \
    vidmm_miniport_forward_enum_vid_pn_cofunc_modality
#define miniport_forward_commit_vid_pn vidmm_miniport_forward_commit_vid_pn
#define miniport_forward_update_active_vid_pn_present_path                                         \
    vidmm_miniport_forward_update_active_vid_pn_present_path
#define miniport_forward_recommend_monitor_modes vidmm_miniport_forward_recommend_monitor_modes
#define miniport_forward_query_vid_pn_hw_capability                                                \
    vidmm_miniport_forward_query_vid_pn_hw_capability
#define miniport_forward_set_pointer_position    vidmm_miniport_forward_set_pointer_position
#define miniport_forward_set_pointer_shape       vidmm_miniport_forward_set_pointer_shape
#define miniport_forward_query_child_relations   vidmm_miniport_forward_query_child_relations
#define miniport_forward_query_child_status      vidmm_miniport_forward_query_child_status
#define miniport_forward_query_device_descriptor vidmm_miniport_forward_query_device_descriptor
#define miniport_forward_stop_device_and_release_post_display_ownership                            \
    vidmm_miniport_forward_stop_device_and_release_post_display_ownership
#define miniport_forward_present_display_only vidmm_miniport_forward_present_display_only
#define miniport_forward_present_to_hw_queue  vidmm_miniport_forward_present_to_hw_queue
#define miniport_ask_name                     vidmm_miniport_ask_name
#define miniport_host_forward_ops             vidmm_miniport_host_forward_ops
#define miniport_raw_abandon                  vidmm_miniport_raw_abandon
#define miniport_raw_ask_anew                 vidmm_miniport_raw_ask_anew
#define miniport_raw_create                   vidmm_miniport_raw_create
#define miniport_raw_interface_size           vidmm_miniport_raw_interface_size
#define miniport_raw_running                  vidmm_miniport_raw_running
#define miniport_raw_set_device_object        vidmm_miniport_raw_set_device_object
#define miniport_raw_set_display_only         vidmm_miniport_raw_set_display_only
#define miniport_raw_set_witness              vidmm_miniport_raw_set_witness
#define miniport_raw_table_size               vidmm_miniport_raw_table_size
#define miniport_raw_unload                   vidmm_miniport_raw_unload
#define miniport_raw_wddm                     vidmm_miniport_raw_wddm

#endif
